//! Marker kinds, and the descriptions of their fields.
//!
//! Paths are of a format that the profiler knows as such: who uploads a profile can have them taken out. Strings of
//! functions and sections stay.

use coldstart_profile::trace::EventKind;
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, MarkerFieldFlags, MarkerFieldFormat, MarkerLocations, Profile, StaticSchemaMarker,
    StaticSchemaMarkerField, StringHandle,
};

const CHART_AND_TABLE: MarkerLocations = MarkerLocations::MARKER_CHART.union(MarkerLocations::MARKER_TABLE);

/// Names and categories of markers, made once. The profiler's chart has a row for each name.
#[derive(Clone, Copy)]
pub(super) struct Kinds {
    pub(super) phases: CategoryHandle,
    pub(super) files: CategoryHandle,
    pub(super) lookups: CategoryHandle,
    waits: CategoryHandle,
    touches: CategoryHandle,
    functions: CategoryHandle,
    pub(super) ready: StringHandle,
    pub(super) mapped: StringHandle,
    pub(super) not_found: StringHandle,
    pub(super) looked_up: StringHandle,
    waited: StringHandle,
    touch: StringHandle,
    function: StringHandle,
    read: StringHandle,
    fill: StringHandle,
    pub(super) nothing: StringHandle,
}

impl Kinds {
    pub(super) fn new(profile: &mut Profile) -> Self {
        Self {
            phases: profile.add_category("Phases", CategoryColor::Blue),
            files: profile.add_category("Files", CategoryColor::Green),
            lookups: profile.add_category("Names", CategoryColor::Brown),
            waits: profile.add_category("Waits for the disk", CategoryColor::Red),
            touches: profile.add_category("First touches", CategoryColor::Orange),
            functions: profile.add_category("First calls", CategoryColor::Purple),
            ready: profile.intern_string("ready"),
            mapped: profile.intern_string("object mapped"),
            not_found: profile.intern_string("name not found"),
            looked_up: profile.intern_string("name looked up"),
            waited: profile.intern_string("touch that waited for the disk"),
            touch: profile.intern_string("touch"),
            function: profile.intern_string("first call"),
            read: profile.intern_string("read"),
            fill: profile.intern_string("from the disk"),
            nothing: profile.intern_string(""),
        }
    }

    /// Name and category of an event.
    pub(super) fn of(&self, kind: EventKind) -> (StringHandle, CategoryHandle) {
        match kind {
            EventKind::Touch(touch) if touch.major => (self.waited, self.waits),
            EventKind::Touch(_) => (self.touch, self.touches),
            EventKind::Function => (self.function, self.functions),
            EventKind::Read => (self.read, self.files),
            EventKind::Fill(_) => (self.fill, self.files),
        }
    }
}

const fn field(key: &'static str, label: &'static str, format: MarkerFieldFormat) -> StaticSchemaMarkerField {
    StaticSchemaMarkerField { key, label, format, flags: MarkerFieldFlags::SEARCHABLE }
}

/// A phase.
pub(super) struct PhaseMarker {
    pub(super) name: StringHandle,
    pub(super) category: CategoryHandle,
    pub(super) object: StringHandle,
    pub(super) function: StringHandle,
    pub(super) known: StringHandle,
}

impl StaticSchemaMarker for PhaseMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "ColdstartPhase";
    const DESCRIPTION: Option<&'static str> = Some("A phase of a program's start.");
    const LOCATIONS: MarkerLocations = CHART_AND_TABLE.union(MarkerLocations::TIMELINE_OVERVIEW);
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.function} {marker.data.object}");
    const TOOLTIP_LABEL: Option<&'static str> = Some("{marker.name} {marker.data.function}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.name} {marker.data.function} {marker.data.object}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[
        field("object", "Object", MarkerFieldFormat::FilePath),
        field("function", "Function", MarkerFieldFormat::String),
        field("known", "How its ends are known", MarkerFieldFormat::String),
    ];

    fn name(&self, _: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, field: u32) -> StringHandle {
        match field {
            0 => self.object,
            1 => self.function,
            _ => self.known,
        }
    }

    fn number_field_value(&self, _: u32) -> f64 {
        f64::NAN
    }
}

/// Something that happened to pages of a file, or to the file. A number that is not there is NaN, which JSON calls
/// `null`, and the profiler leaves such a field out.
pub(super) struct PageMarker {
    pub(super) name: StringHandle,
    pub(super) category: CategoryHandle,
    pub(super) file: StringHandle,
    pub(super) section: StringHandle,
    pub(super) symbol: StringHandle,
    pub(super) page: f64,
    pub(super) bytes: f64,
    pub(super) how: StringHandle,
}

impl StaticSchemaMarker for PageMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "ColdstartPage";
    const DESCRIPTION: Option<&'static str> = Some("Something that happened to pages of a file, at one moment.");
    const LOCATIONS: MarkerLocations = CHART_AND_TABLE;
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.section} {marker.data.symbol}");
    const TOOLTIP_LABEL: Option<&'static str> = Some("{marker.name} {marker.data.section} {marker.data.symbol}");
    const TABLE_LABEL: Option<&'static str> =
        Some("{marker.data.section} {marker.data.symbol} {marker.data.file} page {marker.data.page}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[
        field("file", "File", MarkerFieldFormat::FilePath),
        field("section", "Section", MarkerFieldFormat::String),
        field("symbol", "Symbol", MarkerFieldFormat::String),
        field("page", "Page", MarkerFieldFormat::Integer),
        field("bytes", "Size", MarkerFieldFormat::Bytes),
        field("how", "How", MarkerFieldFormat::String),
    ];

    fn name(&self, _: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, field: u32) -> StringHandle {
        match field {
            0 => self.file,
            1 => self.section,
            2 => self.symbol,
            _ => self.how,
        }
    }

    fn number_field_value(&self, field: u32) -> f64 {
        if field == 3 { self.page } else { self.bytes }
    }
}

/// A name that was asked for.
pub(super) struct LookupMarker {
    pub(super) name: StringHandle,
    pub(super) category: CategoryHandle,
    pub(super) path: StringHandle,
    pub(super) means: StringHandle,
    pub(super) asked: StringHandle,
}

impl StaticSchemaMarker for LookupMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "ColdstartLookup";
    const DESCRIPTION: Option<&'static str> = Some("A name that was asked for.");
    const LOCATIONS: MarkerLocations = CHART_AND_TABLE;
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.path}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.data.path}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[
        field("path", "Name", MarkerFieldFormat::FilePath),
        field("means", "File", MarkerFieldFormat::FilePath),
        field("asked", "Asked for", MarkerFieldFormat::String),
    ];

    fn name(&self, _: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, field: u32) -> StringHandle {
        match field {
            0 => self.path,
            1 => self.means,
            _ => self.asked,
        }
    }

    fn number_field_value(&self, _: u32) -> f64 {
        f64::NAN
    }
}

/// The program was ready.
pub(super) struct ReadyMarker {
    pub(super) name: StringHandle,
    pub(super) category: CategoryHandle,
    pub(super) readiness: StringHandle,
}

impl StaticSchemaMarker for ReadyMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "ColdstartReady";
    const DESCRIPTION: Option<&'static str> = Some("The moment from which the program counts as started.");
    const LOCATIONS: MarkerLocations = CHART_AND_TABLE.union(MarkerLocations::TIMELINE_OVERVIEW);
    const TABLE_LABEL: Option<&'static str> = Some("{marker.name} ({marker.data.readiness})");
    const FIELDS: &'static [StaticSchemaMarkerField] =
        &[field("readiness", "What counts as ready", MarkerFieldFormat::String)];

    fn name(&self, _: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, _: u32) -> StringHandle {
        self.readiness
    }

    fn number_field_value(&self, _: u32) -> f64 {
        f64::NAN
    }
}
